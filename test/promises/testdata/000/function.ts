// tools.ts
import { z } from 'zod';

/** Calculate the nth Fibonacci number */
export function calculateFibonacci({ n }: { n: number }): number {
  if (n <= 1) return n;
  let a = 0, b = 1;
  for (let i = 2; i <= n; i++) [a, b] = [b, a + b];
  return b;
}

// Schema must be exported with matching name + "Schema" suffix
// Uses z.object() directly - same pattern as built-in tools
export const calculateFibonacciSchema = z.object({
  n: z.number().int().min(0).describe('Position in sequence'),
});
