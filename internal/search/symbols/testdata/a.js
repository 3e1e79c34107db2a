// function notThis() {}
import x from 'y'
const LIMIT = 10 // DEF const LIMIT
export const handler = async (req) => { // DEF function handler
  const local = 1
  if (req) {
    go(req)
  }
}
export default class Server extends Base { // DEF class Server
  constructor(opts) { // DEF method Server.constructor
    super(opts)
  }
  async shutdown() { // DEF method Server.shutdown
    for (const x of y) { x() }
  }
  static get name() { // DEF method Server.name
    return `function nor() { ${this.x} `
  }
  onClick = (e) => { // DEF method Server.onClick
    e()
  }
}
function* gen(a, b) { // DEF function gen
  const re = /function "x/ // "
}
exports.parse = function (text) { // DEF function parse
}
Foo.prototype.bar = function () { // DEF method Foo.bar
}
describe("x", function () {
  it("y", () => {})
})
var self = this, n = 1 // DEF var self
module.exports = {
  helper: function (a) { // DEF function helper
  },
}
