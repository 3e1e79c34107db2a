import { z } from 'zod';
import { Tool } from './tool.js';

// Define metadata type
interface ReadMetadata extends Tool.Metadata {
  path: string;
  bytes: number;
}

// Define the tool
export const readTool = Tool.define<ReadSchema, ReadMetadata>('read', {
  description: 'Read file contents',
  parameters: z.object({
    path: z.string().describe('File path to read'),
  }),
  execute: async (args, ctx) => {
    // Stream progress updates
    ctx.metadata({ title: `Reading ${args.path}...` });

    const content = await fs.readFile(args.path, 'utf-8');

    return {
      title: `Read ${args.path}`,
      metadata: { path: args.path, bytes: content.length },
      output: content,
    };
  },
});
