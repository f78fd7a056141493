// Holds rules of docs/spec: R-CTX-3, R-CTX-13 to R-CTX-17, R-TEXT-2c and R-TEXT-5, as somebody sees them who reads the lines of the program.
import { describe, expect, test } from 'vitest'
import { fullWindow } from './support/full-window.ts'
import { installProgram, linesOf, run, type Line } from './support/program.ts'

installProgram()

const json = ['--output-format', 'stream-json', '--verbose']

/** Describes a line in a word or two. */
function outline(line: Line): string {
  if (line.type === 'system' && line.subtype === 'status') return `status ${String(line['status'])}`
  if (line.type === 'system' && line.subtype === 'compact_boundary') {
    const { trigger } = line['compact_metadata'] as { readonly trigger: string }
    return `boundary ${trigger}`
  }
  return line.subtype ?? line.type
}

/** Merges equal neighbours; text of the model and its calls become `turn`. */
function outlineOf(lines: readonly Line[]): readonly string[] {
  const words = lines.map(outline).map((word) => (word === 'assistant' || word === 'user' ? 'turns' : word))
  return words.filter((word, index) => word !== words[index - 1])
}

interface Metadata {
  readonly trigger: string
  readonly pre_tokens: number
  readonly post_tokens: number
}

const compacting = ['status compacting', 'status null', 'boundary auto']

describe('a session that crosses every layer, as stream-json', () => {
  test('emits each compaction in order: its start, its end and a boundary with figures, and nothing twice', async () => {
    const { status, stdout, stderr } = await run(fullWindow('everyLayer', ...json))
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    const lines = linesOf(stdout)
    expect(outlineOf(lines)).toEqual([
      'init',
      'turns',
      // Finished work is replaced, then all but the newest.
      ...compacting,
      'turns',
      ...compacting,
      'turns',
      // Two refusals: what was staged, then a compaction. Neither is emitted, since the run recovered.
      ...compacting,
      ...compacting,
      'turns',
      'success',
    ])
    const uuids = lines.map(({ uuid }) => uuid)
    expect(new Set(uuids).size).toBe(uuids.length)
    const boundaries = lines.filter(({ subtype }) => subtype === 'compact_boundary')
    for (const boundary of boundaries) {
      const { uuid, session_id: session, ...rest } = boundary
      expect([typeof uuid, typeof session]).toEqual(['string', 'string'])
      const metadata = boundary['compact_metadata'] as Metadata
      const figures = { pre_tokens: expect.any(Number), post_tokens: expect.any(Number) }
      expect(rest).toEqual({
        type: 'system',
        subtype: 'compact_boundary',
        compact_metadata: { trigger: 'auto', ...figures },
      })
      expect(metadata.post_tokens).toBeLessThan(metadata.pre_tokens)
    }
    const result = lines.at(-1)
    expect(result).toMatchObject({ result: 'All settings are in order.', terminal_reason: 'completed' })
    expect(result?.['modelUsage']).toMatchObject({ 'claude-haiku-4-5': { contextWindow: 32_000 } })
  })

  test('includes the cost of summaries in the result line', async () => {
    const { stdout } = await run(fullWindow('everyLayer', '--output-format', 'json'))
    const result = JSON.parse(stdout) as {
      readonly usage: { readonly input_tokens: number }
      readonly modelUsage: { readonly [model: string]: { readonly inputTokens: number } }
    }
    expect(result.modelUsage['claude-haiku-4-5']?.inputTokens).toBeGreaterThan(result.usage.input_tokens * 1.1)
  })
})

describe('a session that crosses every layer, as text', () => {
  const news = (stderr: string): readonly string[] => stderr.split('\n').filter((line) => line.startsWith('↻'))

  test('prints one line per layer with --verbose, with its figures', async () => {
    const { status, stdout, stderr } = await run(fullWindow('everyLayer', '--verbose'))
    expect({ status, stdout }).toEqual({ status: 0, stdout: 'All settings are in order.\n' })
    const figures = String.raw`\d+\.\dk → \d+\.\dk tokens`
    const expectedLines = [
      String.raw`6 old results pruned, \d+\.\dk tokens freed`,
      `finished work summarized: ${figures}`,
      `compacted: ${figures}`,
      `finished work summarized: ${figures}`,
      `compacted, since the request was too long: ${figures}`,
    ]
    expect(news(stderr).join('\n')).toMatch(new RegExp(`^${expectedLines.map((line) => `↻ ${line}`).join('\n')}$`))
  })

  test('prints nothing about compaction in a pipe without --verbose', async () => {
    expect(await run(fullWindow('everyLayer'))).toEqual({
      status: 0,
      stdout: 'All settings are in order.\n',
      stderr: '',
    })
  })
})

describe('if compaction cannot free enough space', () => {
  test('compaction_thrash: after three compactions, names flags that were not given', async () => {
    const { status, stdout } = await run(fullWindow('thrash', ...json))
    expect(status).toBe(3)
    const round = ['turns', ...compacting]
    expect(outlineOf(linesOf(stdout))).toEqual([
      'init',
      ...round,
      ...round,
      ...round,
      'turns',
      'error_during_execution',
    ])
    const { stderr } = await run(fullWindow('thrash'))
    expect(stderr).toMatch(/^halting: compaction_thrash: The conversation was full again [^\n]*\n$/)
    expect(stderr).toMatch(
      /\)\. Raise --context-window, if the model accepts more, or choose such a model with --model\.\n$/,
    )
    const named = await run(fullWindow('thrash', '--model', 'claude-haiku-4-5', '--autocompact', '60%'))
    expect(named.stderr).toMatch(/\)\. Raise --autocompact, or raise --context-window, if the model accepts more\.\n$/)
  })

  test('blocking_limit: if compaction is off, says how to turn it on', async () => {
    const { status, stderr } = await run(fullWindow('blocking', '--autocompact', 'off'))
    expect(status).toBe(3)
    expect(stderr).toMatch(/^halting: blocking_limit: Prompt is too long: about \d+ tokens, and 29000 fit\./)
    expect(stderr).toMatch(
      /\)\. Remove --autocompact off, so that the conversation is compacted, or split the task\.\nResume: [^\n]+ --autocompact auto\n$/,
    )
    const byVariable = await run(fullWindow('blocking'), { env: { DISABLE_AUTO_COMPACT: '1' } })
    expect(byVariable.status).toBe(3)
    expect(byVariable.stderr).toMatch(
      /\)\. Add --autocompact auto, which overrides DISABLE_AUTO_COMPACT, or split the task\.\nResume: [^\n]+ --autocompact auto\n$/,
    )
  })

  test('prompt_too_long: if compaction is off and the service refuses first', async () => {
    const { status, stderr } = await run(fullWindow('refused', '--autocompact', 'off'))
    expect(status).toBe(1)
    expect(stderr).toMatch(
      /^halting: prompt_too_long: [^\n]*\)\. Remove --autocompact off, so that the conversation is compacted, or split the task\.\nResume: [^\n]+ --autocompact auto\n$/,
    )
  })
})
