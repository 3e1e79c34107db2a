<# function Fake {} #>
Function Get-Thing { # DEF function Get-Thing
}
