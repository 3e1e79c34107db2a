module Deep # DEF module Deep
#= function fake() end =#
struct Point # DEF struct Point
  x
end
function move!(p) # DEF function move!
  q = 1
end
end
