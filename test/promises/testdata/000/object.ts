// tools.ts
import { z } from 'zod';
import type { NamedTool } from 'golem-forge';

export const calculateFibonacci: NamedTool = {
  name: 'calculateFibonacci',
  description: 'Calculate the nth Fibonacci number',
  inputSchema: z.object({
    n: z.number().int().min(0).describe('Position in sequence'),
  }),
  // Tool can define its own needsApproval
  needsApproval: false,
  execute: async ({ n }) => {
    if (n <= 1) return n;
    let a = 0, b = 1;
    for (let i = 2; i <= n; i++) [a, b] = [b, a + b];
    return b;
  },
};
