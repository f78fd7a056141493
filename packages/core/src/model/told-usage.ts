import type { Usage } from '../messages.ts'

/** A usage as a service told it: one that can be counted, or why it cannot. */
export type ToldUsage =
  | { readonly isUsable: true; readonly usage: Usage }
  | { readonly isUsable: false; readonly problem: string }

const counts = ['input_tokens', 'output_tokens', 'cache_creation_input_tokens', 'cache_read_input_tokens'] as const
/** What a service may leave out, or say nothing of (null). */
const parts = ['cache_creation', 'server_tool_use'] as const

/** Every count must be a finite number of at least 0: else a sum would be no number, or less than what was spent. */
export function toldUsage(told: object): ToldUsage {
  // What a service says need not have the type: it is checked here.
  const usage = told as Usage
  for (const name of counts) {
    if (!isCount(usage[name])) return unusable(name, usage[name])
  }
  let isPlain = true
  for (const part of parts) {
    const inner: unknown = usage[part]
    if (inner === undefined) continue
    isPlain = isPlain && inner !== null
    for (const [name, value] of Object.entries(inner ?? {})) {
      if (!isCount(value)) return unusable(`${part}.${name}`, value)
    }
  }
  return { isUsable: true, usage: isPlain ? usage : withoutNulls(usage) }
}

function isCount(value: unknown): boolean {
  return typeof value === 'number' && value >= 0 && value <= Number.MAX_SAFE_INTEGER
}

function unusable(name: string, value: unknown): ToldUsage {
  const said = typeof value === 'number' ? String(value) : (JSON.stringify(value) ?? String(value))
  return { isUsable: false, problem: `${name} is ${said}` }
}

function withoutNulls({ cache_creation, server_tool_use, ...usage }: Usage): Usage {
  return { ...usage, ...(cache_creation && { cache_creation }), ...(server_tool_use && { server_tool_use }) }
}
