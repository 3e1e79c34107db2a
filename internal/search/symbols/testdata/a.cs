using System;
namespace App.Deep // DEF module App.Deep
{
    // class Not {}
    public partial class Server : Base // DEF class App.Deep.Server
    {
        public int Count { get; private set; } // DEF field Server.Count
        private readonly string _name = @"class ""Fake"" {"; // DEF field Server._name
        public Server(int x) : base(x) // DEF method Server.Server
        {
            if (x > 0) { Call(x); }
        }
        public async Task<int> RunAsync<T>(T x) where T : class // DEF method Server.RunAsync
        {
            return 1;
        }
        public int Twice(int x) => x * 2; // DEF method Server.Twice
    }
    public interface IHandler // DEF interface App.Deep.IHandler
    {
        void Handle(string s); // DEF method IHandler.Handle
    }
    public record Point(int X, int Y); // DEF class App.Deep.Point
    internal enum State { On, Off } // DEF enum App.Deep.State
}
