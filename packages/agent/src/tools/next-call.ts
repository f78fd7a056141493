import type { Json } from '@halting/core'

/** A call of a tool for a model to make next: `Read with {"file_path": "a.ts", "offset": 2001}`. */
export function nextCall(toolName: string, input: { readonly [field: string]: Json | undefined }): string {
  const fields = Object.entries(input).filter(([, value]) => value !== undefined)
  return `${toolName} with {${fields.map(([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(value)}`).join(', ')}}`
}
