import type { AnyTool } from '@halting/core'

/** A tool for runs that need one. It reads and changes nothing. */
export const look: AnyTool = {
  name: 'Look',
  description: 'Looks',
  inputSchema: { type: 'object' },
  readOnly: true,
  execute: () => 'seen',
}
