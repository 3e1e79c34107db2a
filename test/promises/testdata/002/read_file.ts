const readFileTool: Tool = {
  name: 'read_file',
  description: 'Read the contents of a file in the workspace',
  inputSchema: z.object({
    path: z.string().describe('Path relative to workspace root'),
    encoding: z.enum(['utf-8', 'base64']).optional(),
  }).describe('read_file input'),
  outputSchema: z.object({
    content: z.string(),
    size: z.number(),
    modified: z.string(),
  }),
  requiresApproval: false,
  async execute(args) {
    const { path, encoding = 'utf-8' } = inputSchema.parse(args)
    // Implementation
  },
}
