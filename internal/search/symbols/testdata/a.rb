# class Not
require 'x'
module Deep # DEF module Deep
  LIMIT = 10 # DEF var Deep.LIMIT
  class Server < Base # DEF class Deep.Server
    attr_reader :name
    def initialize(a) # DEF method Server.initialize
      @x = "def fake"
      y = 1
    end

    def self.build # DEF method Server.build
      text = <<~SQL
        def fake
        don't
      SQL
    end

    def ready? # DEF method Server.ready?
      true
    end

    private def hidden!; end # DEF method Server.hidden!
  end
end
def top # DEF function top
end
