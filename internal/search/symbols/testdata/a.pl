package App::Server; # DEF module App::Server
=pod
sub fake { }
=cut
sub start { # DEF function start
  my $x = 1;
}
