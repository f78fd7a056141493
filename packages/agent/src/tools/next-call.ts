import type { Json } from '@halting/core'

/** The next call for a model to make: `Read with {"file_path": "a.ts", "offset": 2001}`. */
export function nextCall(toolName: string, input: { readonly [field: string]: Json | undefined }): string {
  const fields = Object.entries(input).filter(([, value]) => value !== undefined)
  return `${toolName} with {${fields.map(([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(value)}`).join(', ')}}`
}
