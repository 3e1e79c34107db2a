export interface Options { // DEF interface Options
  name: string
  run(a: string): Promise<void>; // DEF method Options.run
}
export type Id = string | number // DEF type Id
export enum Color { Red, Green } // DEF enum Color
declare module "foo" {}
namespace Deep { // DEF module Deep
  export function inside<T>(x: T): T { // DEF function Deep.inside
    return x
  }
}
abstract class Repo<T> { // DEF class Repo
  private cache: Map<string, T> = new Map()
  public async find<K extends keyof T>(key: K): Promise<T | undefined> { // DEF method Repo.find
    return this.cache.get(key)
  }
  protected get size(): number { // DEF method Repo.size
    return 1
  }
}
export async function main(): Promise<void> { // DEF function main
}
