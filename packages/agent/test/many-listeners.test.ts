// Holds rules of docs/spec: R-ABORT-10, R-ABORT-10a: calls of tools and servers that run at once, on one signal.
import { getEventListeners } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { streamRun, startRun, type AnyTool, type ToolContext } from '@halting/core'
import { isAgentTool } from '@halting/core/adapters'
import { scriptedModel } from '@halting/core/testing'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createCodingTools } from '../src/index.ts'
import { hostile, readyServers } from './mcp/support.ts'

let folder = ''
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'halting-listeners-'))
  writeFileSync(join(folder, 'a.txt'), 'a word\n')
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** The signal that its calls receive. */
function watched(tool: AnyTool, onSignal: (signal: AbortSignal) => void): AnyTool {
  if (isAgentTool(tool)) return tool
  return {
    ...tool,
    concurrencySafe: true,
    execute(input: never, context: ToolContext) {
      onSignal(context.signal)
      return tool.execute(input, context)
    },
  }
}

test.each([
  ['mcp__s__say', (index: number) => ({ text: `${index}` }), 200],
  ['Bash', (index: number) => ({ command: `echo ${index}` }), 24],
  ['Grep', (index: number) => ({ pattern: `word|${index}` }), 24],
  ['Read', () => ({ file_path: join(folder, 'a.txt') }), 200],
] as const)('calls of %s at once: no warning, and no remaining listener', async (name, input, count) => {
  const warnings: string[] = []
  const onWarning = (warning: Error): void => void warnings.push(`${warning.name}: ${warning.message}`)
  process.on('warning', onWarning)
  const servers = await readyServers({ s: hostile('good') })
  const signals = new Set<AbortSignal>()
  const own = createCodingTools({ cwd: folder })
  const server = servers.tool(name)
  const tools = [...own, ...(server === undefined ? [] : [server])].map((tool) =>
    watched(tool, (signal) => void signals.add(signal)),
  )
  const toolCalls = Array.from({ length: count }, (_, index) => ({ id: `c${index}`, name, input: input(index) }))
  const { terminal } = await streamRun(startRun({ prompt: 'go' }), {
    model: scriptedModel([{ toolCalls }, 'Done.']),
    tools,
    toolConcurrency: count,
  }).ended
  // A warning is emitted in the next turn of the event loop.
  await new Promise((resolve) => setImmediate(resolve))
  process.off('warning', onWarning)
  const left = [...signals].map((signal) => getEventListeners(signal, 'abort').length)
  expect({ reason: terminal.reason, results: terminal.summary.toolResults, left, warnings }).toEqual({
    reason: 'completed',
    results: count,
    left: [0],
    warnings: [],
  })
})
