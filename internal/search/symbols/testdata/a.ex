# def not
defmodule App.Server do # DEF module App.Server
  def start(x) do # DEF function App.Server.start
  end
  defp ready?(x), do: true # DEF function App.Server.ready?
end
