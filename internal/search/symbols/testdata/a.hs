module Main where -- DEF module Main
-- fake :: Int
data Shape = Circle Int -- DEF type Shape
class Area a where -- DEF interface Area
  area :: a -> Int -- DEF method Area.area
total :: [Int] -> Int -- DEF function total
total' = 'x'
