import type { AnyTool } from '@halting/core'

/** A tool for a run that needs one: it reads nothing and changes nothing. */
export const look: AnyTool = {
  name: 'Look',
  description: 'Looks',
  inputSchema: { type: 'object' },
  readOnly: true,
  execute: () => 'seen',
}
