# fake <- function(x) x
area <- function(x) { # DEF function area
  x
}
