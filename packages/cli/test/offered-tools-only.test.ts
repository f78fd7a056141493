// Holds R-READS-2a of docs/spec: no tool description refers to a tool that the session does not offer.
import { expect, test } from 'vitest'
import { type OfferedTool, recordRequest } from './support/recorded-request.ts'
import { installProgram } from './support/program.ts'

installProgram()

const requestOf = recordRequest()

async function toolsWith(...flags: readonly string[]): Promise<readonly OfferedTool[]> {
  return (await requestOf(['-p', 'hi', ...flags])).tools
}

const names = 'Read|Write|Edit|apply_patch|Bash|Glob|Grep|TaskOutput|TaskStop|Wait|NotebookEdit|WebFetch|Agent'

test.each([
  [['--disallowedTools', 'Bash']],
  [['--disallowedTools', 'Edit,Grep,Wait,Agent']],
  [['--disallowedTools', 'TaskOutput,TaskStop']],
  [['--tools', 'Read']],
  [['--tools', 'Write,Bash']],
  [['--tool-profile', 'codex']],
  [['--tool-profile', 'codex', '--disallowedTools', 'Glob']],
  [['--tool-profile', 'small']],
])('names only offered tools in descriptions with %j', async (flags) => {
  const tools = await toolsWith(...flags)
  const offered = new Set(tools.map(({ name }) => name))
  const named = tools.flatMap(({ description, input_schema: schema }) =>
    // At the start of a sentence it is a verb, such as `Read the file first.`
    [...`${description} ${JSON.stringify(schema)}`.matchAll(new RegExp(`(?<=[a-z,:] )(?:${names})\\b`, 'g'))].map(
      ([name]) => name,
    ),
  )
  expect(named.filter((name) => !offered.has(name))).toEqual([])
})

test('names only existing tools in lists', async () => {
  const tools = await toolsWith('--disallowedTools', 'Edit,Grep,Wait')
  const bash = tools.find(({ name }) => name === 'Bash')
  expect(bash?.description).toContain(' For files, prefer Read, Write and Glob. ')
  expect(JSON.stringify(bash?.input_schema)).toContain(
    'Return immediately. Then use TaskOutput to read it, TaskStop to stop it',
  )
  expect(tools.find(({ name }) => name === 'TaskOutput')?.description).toBe(
    'Returns the output and state of a background command or agent.',
  )
})
