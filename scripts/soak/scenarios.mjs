// What the sessions of a soak do. Each scenario says how its runs may end, and what they must contain: one that does not do its job has failed.
import { dirname, join } from 'node:path'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'

const require = createRequire(import.meta.url)
const ours = fileURLToPath(new URL('server.mjs', import.meta.url))
const everything = join(
  dirname(require.resolve('@modelcontextprotocol/server-everything/package.json')),
  'dist/index.js',
)
const server = (file, ...args) => ({ type: 'stdio', command: process.execPath, args: [file, ...args], env: {} })

const call = (name, input) => ({ type: 'tool_use', name, input })
const calls = (...content) => ({ content })
const bash = (command, more = {}) => call('Bash', { command, ...more })
const says = (content) => ({ content })
/** A command that reports its start and runs until it is ended. */
const forever = 'touch started; exec sleep 3600'
const behind = { run_in_background: true }

/**
 *
 * @typedef {object} Scenario
 * @property {string} name
 * @property {string} [needs] a program that it needs
 * @property {readonly object[]} replies of the model
 * @property {readonly string[]} ends how each run of the session ends
 * @property {readonly string[]} [shows] what the conversation contains afterwards
 * @property {object} [options] of `codingAgent`
 * @property {'commit'} [project] the folder is a git repository
 * @property {'interrupt' | 'leave' | 'dispose' | 'kill' | 'terminate'} [breaks] how it is broken off, once the file `started` exists
 * @property {readonly object[]} [after] replies for the run after that, in a process or a builder of its own
 */

/** Scenarios in this process, by `codingAgent`. @type {readonly Scenario[]} */
export const embedded = [
  {
    name: 'files, searches and commands',
    project: 'commit',
    replies: [
      calls(
        call('Read', { file_path: 'sum.mjs' }),
        call('Grep', { pattern: 'sum', output_mode: 'content' }),
        call('Glob', { pattern: '**/*.mjs' }),
      ),
      calls(call('Edit', { file_path: 'sum.mjs', old_string: 'a - b', new_string: 'a + b' })),
      calls(bash('cat sum.mjs; echo hello; (sleep 0.1; echo late) &')),
      calls(call('Write', { file_path: 'new.txt', content: 'new\n' })),
      says('Done.'),
    ],
    ends: ['completed'],
    shows: ['a + b', 'hello'],
  },
  {
    name: 'a command in the background that is waited for',
    replies: [
      calls(bash('sleep 0.3; echo built', behind)),
      calls(call('TaskOutput', { task_id: 'bash_1' })),
      calls(bash('sleep 0.2; echo twice', behind)),
      says('A moment.'),
      says('Done.'),
    ],
    ends: ['completed'],
    shows: ['built', 'twice'],
  },
  {
    name: 'commands in the background that are stopped with the run',
    options: { background: 'stop' },
    replies: [calls(bash('sleep 3600 & sleep 3600', behind), bash('trap "" TERM; sleep 3600', behind)), says('Done.')],
    ends: ['completed'],
  },
  {
    name: 'a command in the background that is stopped by the model',
    replies: [calls(bash('sleep 3600', behind)), calls(call('TaskStop', { task_id: 'bash_1' })), says('Done.')],
    ends: ['completed'],
    shows: ['bash_1'],
  },
  {
    name: 'a command that detaches a server, which the policy stops',
    options: { background: 'stop' },
    replies: [calls(bash('setsid sleep 3600 & echo up')), says('Done.')],
    ends: ['completed'],
    shows: ['up'],
  },
  {
    name: 'servers that answer',
    options: { mcpServers: { ours: server(ours), everything: server(everything, 'stdio') } },
    replies: [
      calls(call('mcp__ours__say', { text: 'hello' }), call('mcp__everything__echo', { message: 'there' })),
      says('Done.'),
    ],
    ends: ['completed'],
    shows: ['said hello', 'Echo: there'],
  },
  {
    name: 'a server by HTTP, with a stream that stays open',
    options: { mcpServers: { web: { type: 'http', url: '', headers: {} } } },
    replies: [calls(call('mcp__web__say', { text: 'hello' })), says('Done.')],
    ends: ['completed'],
    shows: ['web said hello'],
  },
  {
    name: 'commands in a sandbox',
    needs: 'bwrap',
    options: { sandbox: true, background: 'stop' },
    replies: [calls(bash('echo held'), bash('sleep 3600', behind)), says('Done.')],
    ends: ['completed'],
    shows: ['held'],
  },
  {
    name: 'a server that ends at each call, and one that does not leave',
    options: { mcpServers: { crash: server(ours, 'crash'), deaf: server(ours, 'deaf') } },
    replies: [
      calls(call('mcp__crash__say', {})),
      calls(call('mcp__crash__say', {})),
      calls(call('mcp__deaf__say', { text: 'here' })),
      says('Done.'),
    ],
    ends: ['completed'],
    shows: ['said here'],
  },
  {
    name: 'a server that hangs, and a person who interrupts',
    options: { mcpServers: { hang: server(ours, 'hang') } },
    replies: [calls(bash('touch started')), calls(call('mcp__hang__say', {}))],
    breaks: 'interrupt',
    ends: ['aborted_tools', 'aborted_streaming'],
  },
  {
    name: 'subagents side by side, one of which comes to its limit',
    options: {
      mcpServers: { ours: server(ours) },
      agents: { short: { description: 'Is short', prompt: 'Be short.', maxTurns: 1 } },
    },
    replies: [
      { when: 'PART ONE', content: [bash('echo one-was-here; sleep 0.2')] },
      { when: 'one-was-here', content: 'The first is done.' },
      { when: 'PART TWO', content: [call('mcp__ours__say', { text: 'two-was-here' })] },
      { when: 'said two-was-here', content: 'The second is done.' },
      { when: 'PART THREE', content: [bash('echo three-was-here')] },
      calls(
        call('Agent', { description: 'one', prompt: 'PART ONE' }),
        call('Agent', { description: 'two', prompt: 'PART TWO' }),
        call('Agent', { description: 'three', prompt: 'PART THREE', subagent_type: 'short' }),
      ),
      says('Done.'),
    ],
    ends: ['completed'],
    shows: ['The first is done.', 'The second is done.', 'stopped before it was done'],
  },
  {
    name: 'a subagent that is interrupted with its command',
    replies: [
      { when: 'PART ONE', content: [bash(forever)] },
      calls(call('Agent', { description: 'one', prompt: 'PART ONE' })),
    ],
    breaks: 'interrupt',
    ends: ['aborted_tools'],
  },
  {
    name: 'a service that does not answer, and a person who interrupts',
    replies: [calls(bash('touch started')), { delay_ms: 3_600_000, content: 'Late.' }],
    breaks: 'interrupt',
    ends: ['aborted_streaming', 'aborted_tools'],
  },
  {
    name: 'a connection that breaks, and a service that is overloaded',
    replies: [
      { content: 'Once upon a time', fault: { kind: 'drop', at: 'within' } },
      { error: { status: 529, headers: { 'retry-after': '0' } } },
      calls(bash('echo again')),
      says('Done.'),
    ],
    ends: ['completed'],
    shows: ['again'],
  },
  {
    name: 'a limit on turns, with a command that runs',
    options: { maxTurns: 2, background: 'stop' },
    replies: [calls(bash('sleep 3600', behind)), calls(bash('echo two')), calls(bash('echo three'))],
    ends: ['max_turns'],
    shows: ['two'],
  },
  {
    name: 'a limit on time',
    options: { maxDurationMs: 1_500 },
    replies: [calls(bash(forever)), says('Done.')],
    ends: ['time_limit'],
  },
  {
    name: 'a reader who leaves',
    options: { mcpServers: { ours: server(ours) } },
    replies: [calls(bash(forever), bash(forever, behind))],
    breaks: 'leave',
    ends: ['abandoned'],
  },
  {
    name: 'a session that is disposed of in the middle, and goes on',
    project: 'commit',
    options: { mcpServers: { ours: server(ours) } },
    replies: [calls(call('Write', { file_path: 'a.txt', content: 'a\n' })), calls(bash(forever))],
    breaks: 'dispose',
    after: [calls(call('Read', { file_path: 'a.txt' }), call('mcp__ours__say', { text: 'back' })), says('Done.')],
    ends: ['aborted_tools', 'completed'],
    shows: ['said back'],
  },
  {
    name: 'hooks, one of which hangs',
    options: {
      trust: true,
      settings: {
        hooks: {
          PreToolUse: [{ matcher: 'Bash', hooks: [{ type: 'command', command: 'cat > seen.json' }] }],
          PostToolUse: [{ hooks: [{ type: 'command', command: 'sleep 3600', timeout: 1 }] }],
          SessionEnd: [{ hooks: [{ type: 'command', command: 'sleep 3600' }] }],
        },
      },
    },
    replies: [calls(bash('echo hooked')), calls(bash('cat seen.json')), says('Done.')],
    ends: ['completed'],
    shows: ['hooked', 'hook_event_name'],
  },
  {
    name: 'an agent in the background',
    replies: [
      calls(call('Agent', { description: 'one', prompt: 'PART ONE', run_in_background: true })),
      { when: 'PART ONE', content: 'The part is done.' },
      says('A moment.'),
      says('Done.'),
    ],
    ends: ['completed'],
    shows: ['The part is done.'],
  },
  {
    name: 'output that is too large to be shown, and a search that is cut',
    replies: [
      calls(bash('seq 200000')),
      calls(call('Grep', { pattern: '.', path: '/usr/share', output_mode: 'content', head_limit: 3 })),
      calls(call('WebFetch', { url: '{{web}}/page', prompt: 'What does it say?' })),
      { when: 'The page has ended.', content: 'It says that it is a page of this soak.' },
      says('Done.'),
    ],
    ends: ['completed'],
    shows: ['a page of this soak'],
  },
]

/** Scenarios by the program, in a process of its own. @type {readonly Scenario[]} */
export const programs = [
  {
    name: 'the program',
    options: { mcpServers: { ours: server(ours) } },
    replies: [
      calls(bash('sleep 0.2; echo behind', behind), call('mcp__ours__say', { text: 'hello' })),
      calls(call('Agent', { description: 'one', prompt: 'PART ONE' })),
      { when: 'PART ONE', content: 'The part is done.' },
      says('A moment.'),
      says('Done.'),
    ],
    ends: ['completed'],
    shows: ['said hello', 'The part is done.', 'behind'],
  },
  {
    name: 'the program, killed and resumed',
    project: 'commit',
    options: { mcpServers: { ours: server(ours) } },
    replies: [
      calls(call('Write', { file_path: 'a.txt', content: 'a\n' }), bash('sleep 3600', behind)),
      calls(bash(forever)),
    ],
    breaks: 'kill',
    after: [calls(call('Read', { file_path: 'a.txt' }), call('mcp__ours__say', { text: 'back' })), says('Done.')],
    ends: ['aborted_tools', 'completed'],
    shows: ['said back'],
  },
  {
    name: 'the program, killed in a subagent and resumed',
    replies: [
      { when: 'PART ONE', content: [bash(forever)] },
      calls(call('Agent', { description: 'one', prompt: 'PART ONE' })),
    ],
    breaks: 'kill',
    after: [says('Done.'), says('Done.')],
    ends: ['aborted_tools', 'completed'],
  },
  {
    name: 'the program, terminated',
    options: { mcpServers: { ours: server(ours), deaf: server(ours, 'deaf') } },
    replies: [calls(bash('sleep 3600', behind)), calls(bash(forever))],
    breaks: 'terminate',
    ends: ['aborted_tools'],
  },
]
