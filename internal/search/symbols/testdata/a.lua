-- function not()
local M = {}
function M.parse(text) -- DEF method M.parse
  local x = 1
end
local function helper() -- DEF function helper
end
M.run = function(a) -- DEF function run
end
