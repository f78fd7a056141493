// Only the content that the variables allow is sent: searches everything that is sent.
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { decoded, installCollector } from './support/otlp.ts'
import { call, here, installProgram, run } from './support/program.ts'

installProgram()
const collector = installCollector()

/** A unique word for each kind of text. */
const words = {
  prompt: 'kestrel',
  agentPrompt: 'puffin',
  agentDescription: 'grebe',
  reply: 'heron',
  thinking: 'osprey',
  command: 'avocet',
  path: 'bittern',
  output: 'curlew',
  fileContent: 'dunlin',
  failure: 'egret',
  hookOutput: 'fulmar',
  hookFailure: 'gannet',
  memory: 'hoopoe',
  systemPrompt: 'jacana',
  folder: 'knot',
  title: 'linnet',
  todo: 'merlin',
  denied: 'nuthatch',
  userName: 'oriole',
  environment: 'plover',
  mentioned: 'siskin',
} as const
type Word = keyof typeof words

/** Works with all of them, in a folder and a home directory named by them. */
async function work(env: Readonly<Record<string, string>>): Promise<readonly Word[]> {
  collector.forget()
  const cwd = join(mkdtempSync(join(here(), 'private-')), words.folder)
  mkdirSync(cwd)
  writeFileSync(join(cwd, 'CLAUDE.md'), `Remember ${words.memory}.`)
  const file = join(cwd, `${words.path}.txt`)
  writeFileSync(file, words.fileContent)
  writeFileSync(join(cwd, 'notes.txt'), words.mentioned)
  const hook = (command: string, matcher = '') => [{ matcher, hooks: [{ type: 'command', command }] }]
  const settings = {
    hooks: {
      UserPromptSubmit: hook(`echo ${words.hookOutput}`),
      PreToolUse: hook(`echo ${words.hookOutput} >&2; exit 2`, 'Glob'),
      PostToolUse: hook(`echo ${words.hookFailure} >&2; exit 1`, 'Bash'),
    },
  }
  const todos = [{ content: words.todo, status: 'pending', activeForm: words.todo }]
  const agent = { description: words.agentDescription, prompt: words.agentPrompt, subagent_type: 'general-purpose' }
  const replies = [
    {
      content: [
        { type: 'thinking', thinking: words.thinking, signature: 'c2lnbmVk' },
        words.reply,
        call('Bash', { command: `echo ${words.command} >/dev/null; cat ${file}; echo ${words.output}` }),
        call('Bash', { command: `echo ${words.failure}; exit 3` }),
        call('Read', { file_path: file }),
        call('Glob', { pattern: `${words.path}*` }),
        call('Edit', { file_path: file, old_string: words.denied, new_string: '' }),
        call('TodoWrite', { todos }),
        call('Agent', agent),
      ],
    },
    { content: [words.reply] },
    { content: [words.reply] },
  ]
  const script = join(cwd, 'script.json')
  writeFileSync(script, JSON.stringify({ model: 'claude-sonnet-4-5', replies }))
  const flags = [
    '--trust',
    '--script',
    script,
    '--settings',
    JSON.stringify(settings),
    '--allowedTools',
    'Bash,TodoWrite',
  ]
  const more = ['--append-system-prompt', words.systemPrompt, '--output-format', 'stream-json', '--verbose']
  const { status, stderr } = await run(['-p', `${words.prompt} @notes.txt ${words.title}`, ...flags, ...more], {
    cwd,
    env: {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      USER: words.userName,
      OF_MINE: words.environment,
      ...env,
    },
  })
  expect([status, stderr.includes('telemetry')]).toEqual([0, false])
  expect(collector.received.length).toBeGreaterThan(1)
  for (const each of collector.received) decoded(each)
  const sent = collector.received
    .map(({ path, headers, body }) => `${path}\n${JSON.stringify(headers)}\n${body.toString('utf8')}`)
    .join('\n')
  // True: the keys are those of the object.
  return (Object.keys(words) as Word[]).filter((name) => sent.includes(words[name]))
}

const inputs = [
  'agentPrompt',
  'agentDescription',
  'command',
  'path',
  'output',
  'failure',
  'folder',
  'todo',
  'denied',
] as const
// The answer of a subagent is a result, and so is why a hook blocked a call.
const results = ['fileContent', 'reply', 'hookOutput'] as const

test.each<[string, Readonly<Record<string, string>>, readonly Word[]]>([
  ['nothing', {}, []],
  ['nothing, where variables say no', { OTEL_LOG_USER_PROMPTS: '0', OTEL_LOG_TOOL_CONTENT: 'no' }, []],
  ['what persons wrote', { OTEL_LOG_USER_PROMPTS: '1' }, ['prompt', 'title']],
  ['what tools were called with', { OTEL_LOG_TOOL_DETAILS: 'true' }, inputs],
  ['what tools were called with and gave', { OTEL_LOG_TOOL_CONTENT: '1' }, [...inputs, ...results]],
  [
    'all of it, without thoughts, instructions and what is around',
    { OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: 'true' },
    ['prompt', 'title', 'mentioned', ...inputs, ...results],
  ],
])('%s', async (_what, env, wanted) => {
  expect(new Set(await work(env))).toEqual(new Set(wanted))
})
