import { describe, expect, test } from 'vitest'
import { parseFlags } from '../src/flags/parse.ts'
import { flagTable } from '../src/flags/table.ts'
import { installProgram, run, runHere, script } from './support/program.ts'

installProgram()

describe('the flag table', () => {
  test('parses every flag as --flag value and as --flag=value', () => {
    const given = {
      '--output-format': ['stream-json', { outputFormat: 'stream-json' }],
      '--input-format': ['stream-json', { inputFormat: 'stream-json' }],
      '--debug': ['api', { debug: 'api' }],
      '--debug-to-stderr': ['api', { debug: 'api' }],
      '-d': ['api', { debug: 'api' }],
      '--thinking': ['adaptive', { thinking: 'adaptive' }],
      '--task-budget': ['50k', { taskBudget: 50_000 }],
      '--permission-prompt-tool': ['mcp__auth__ask', { permissionPromptTool: 'mcp__auth__ask' }],
      '--permission-prompts': ['none', { permissionPrompts: 'none' }],
      '--agent': ['reviewer', { agent: 'reviewer' }],
      '--plugin-dir': ['a b', { pluginDir: ['a b'] }],
      '--plugin-dir-no-mcp': ['a b', { pluginDirNoMcp: ['a b'] }],
      '--json-schema': ['{"type":"object"}', { jsonSchema: '{"type":"object"}' }],
      '--model': ['claude-sonnet-5-5', { model: 'claude-sonnet-5-5' }],
      '--fallback-model': ['claude-haiku-4-5', { fallbackModel: 'claude-haiku-4-5' }],
      '--small-model': ['claude-haiku-4-5', { smallModel: 'claude-haiku-4-5' }],
      '--script': ['a.json', { script: 'a.json' }],
      '--settings': ['{"a":1}', { settings: '{"a":1}' }],
      '--setting-sources': ['user,local', { settingSources: ['user', 'local'] }],
      '--pass-env': ['A_KEY,B', { passEnv: ['A_KEY', 'B'] }],
      '--betas': ['context-1m-2025-08-07,x', { betas: ['context-1m-2025-08-07', 'x'] }],
      '--max-thinking-tokens': ['0', { maxThinkingTokens: 0 }],
      '--effort': ['xhigh', { effort: 'xhigh' }],
      '--since': ['7d', { since: { kind: 'ago', count: 7, unit: 'd' } }],
      '--by': ['model', { by: 'model' }],
      '--system-prompt': ['- be brief', { systemPrompt: '- be brief' }],
      '--system-prompt-file': ['a.md', { systemPromptFile: 'a.md' }],
      '--append-system-prompt': ['a=b', { appendSystemPrompt: 'a=b' }],
      '--append-system-prompt-file': ['b.md', { appendSystemPromptFile: 'b.md' }],
      '-r': ['abc', { resume: 'abc' }],
      '--resume': ['abc', { resume: 'abc' }],
      '--on-ask': ['defer', { onAsk: 'defer' }],
      '--session-store': ['sqlite:~/halting.db', { sessionStore: 'sqlite:~/halting.db' }],
      '--to': ['files', { to: 'files' }],
      '--cluster': ['http://10.0.0.1:8080/', { cluster: 'http://10.0.0.1:8080' }],
      '--restate': ['https://engine', { restate: 'https://engine' }],
      '--admin': ['http://[::1]:9070', { admin: 'http://[::1]:9070' }],
      '--register': ['http://worker:9080', { register: 'http://worker:9080' }],
      '--port': ['0', { port: 0 }],
      '--host': ['0.0.0.0', { host: '0.0.0.0' }],
      '--workspaces': ['a b', { workspaces: 'a b' }],
      '--workspace-template': ['a', { workspaceTemplate: 'a' }],
      '--folders': ['/srv', { folders: '/srv' }],
      '--payloads': ['/srv/large', { payloads: '/srv/large' }],
      '--tenant': ['acme', { tenant: 'acme' }],
      '--allowed-tenants': ['acme,b', { allowedTenants: ['acme', 'b'] }],
      '--max-concurrent-requests': ['8', { maxConcurrentRequests: 8 }],
      '--requests-per-minute': ['50', { requestsPerMinute: 50 }],
      '--tokens-per-minute': ['200k', { tokensPerMinute: 200_000 }],
      '--identity-key': [
        'publickeyv1_Hsp9Y1JigHZFmCXUguhcY7f5X6Dhzho8QQQ8G82d2YCp',
        { identityKey: ['publickeyv1_Hsp9Y1JigHZFmCXUguhcY7f5X6Dhzho8QQQ8G82d2YCp'] },
      ],
      '--concurrency': ['8', { concurrency: 8 }],
      '--limit': ['20', { limit: 20 }],
      '--cursor': ['WzFd', { cursor: 'WzFd' }],
      '--state': ['waiting', { state: 'waiting' }],
      '--older-than': ['30d', { olderThan: { kind: 'ago', count: 30, unit: 'd' } }],
      '--retain': ['30d', { retain: 2_592_000_000 }],
      '--grace': ['90s', { grace: 90_000 }],
      '--log-format': ['json', { logFormat: 'json' }],
      '--server': ['a/restate-server', { server: 'a/restate-server' }],
      '--background': ['keep', { background: 'keep' }],
      '--theme': ['light', { theme: 'light' }],
      '--message': ['no', { message: 'no' }],
      '--format': ['markdown', { format: 'markdown' }],
      '--output': ['a.html', { output: 'a.html' }],
      '--resume-session-at': ['m', { resumeSessionAt: 'm' }],
      '--resume-drops-turn': ['m', { resumeDropsTurn: 'm' }],
      '--session-id': ['3F2A8C1E-5B7D-4E9A-8C61-0D2B4F6A7E93', { sessionId: '3f2a8c1e-5b7d-4e9a-8c61-0d2b4f6a7e93' }],
      '--until': ['npm test, and -x', { until: ['npm test, and -x'] }],
      '--goal': ['All pages load.', { goal: 'All pages load.' }],
      '--until-tries': ['3', { untilTries: 3 }],
      '--every': ['10m', { every: 600_000 }],
      '--rounds': ['3', { rounds: 3 }],
      '--for': ['8h', { loopTime: 28_800_000 }],
      '--until-timeout': ['90s', { untilTimeout: 90_000 }],
      '--until-stable': ['100', { untilStable: 100 }],
      '--protect': ['test/**, a b', { protect: ['test/**, a b'] }],
      '--max-turns': ['3', { maxTurns: 3 }],
      '--max-budget-usd': ['.5', { maxBudgetUsd: 0.5 }],
      '--usd': ['0', { usd: 0 }],
      '--max-run-usd': ['none', { maxRunUsd: Infinity }],
      '--max-tool-calls': ['7', { maxToolCalls: 7 }],
      '--may-lose': ['2%', { mayLose: 0.02 }],
      '--run': ['2', { run: 2 }],
      '--budget-per-day': ['5:claude-opus-*', { budgetPerDay: ['5:claude-opus-*'] }],
      '--budget-per-month': ['200', { budgetPerMonth: ['200'] }],
      '--max-tokens': ['1.5k', { maxTokens: 1500 }],
      '--max-duration': ['1h30m', { maxDuration: 5_400_000 }],
      '--wait-for-limits': ['none', { waitForLimits: 0 }],
      '--on-limit': ['pause', { onLimit: 'pause' }],
      '--verify-changes': ['tell', { verifyChanges: 'tell' }],
      '--pause-for': ['10m', { pauseFor: 600_000 }],
      '--token-budget': ['2M', { tokenBudget: 2_000_000 }],
      '--finish-reasons': ['end_turn, max_tokens', { finishReasons: ['end_turn', 'max_tokens'] }],
      '--error-policy': ['tools', { errorPolicy: 'tools' }],
      '--autocompact': ['80%', { autocompact: '80%' }],
      '--compact-model': ['claude-haiku-4-5', { compactModel: 'claude-haiku-4-5' }],
      '--context-window': ['200k', { contextWindow: 200_000 }],
      '--permission-mode': ['acceptEdits', { permissionMode: 'acceptEdits' }],
      '--allowedTools': ['Bash(git log, x *),Read Edit', { allowedTools: ['Bash(git log, x *)', 'Read', 'Edit'] }],
      '--allowed-tools': ['Read', { allowedTools: ['Read'] }],
      '--disallowedTools': ['Bash', { disallowedTools: ['Bash'] }],
      '--disallowed-tools': ['Bash', { disallowedTools: ['Bash'] }],
      '--tool-profile': ['small', { toolProfile: 'small' }],
      '--tools': ['Read,Grep', { tools: ['Read', 'Grep'] }],
      '--add-dir': ['a b, c', { addDir: ['a b, c'] }],
      '--mcp-config': ['a, b.json', { mcpConfig: ['a, b.json'] }],
      '--agents': ['{"a": {}}', { agents: '{"a": {}}' }],
      '--max-subagents': ['0', { maxSubagents: 0 }],
      '--max-subagent-depth': ['2', { maxSubagentDepth: 2 }],
    } as const
    for (const [flag, [value, flags]] of Object.entries(given)) {
      expect(parseFlags([flag, value, 'hi'])).toEqual({ flags, words: ['hi'] })
      expect(parseFlags(['hi', `${flag}=${value}`])).toEqual({ flags, words: ['hi'] })
    }
    const switches = {
      '-p': 'print',
      '--print': 'print',
      '--verbose': 'verbose',
      '--quiet': 'quiet',
      '--no-animation': 'noAnimation',
      '--wrap-up': 'wrapUp',
      '--ignore-standing-budgets': 'ignoreStandingBudgets',
      '--skip-if-met': 'skipIfMet',
      '--stop-when-met': 'stopWhenMet',
      '--json': 'json',
      '-c': 'continue',
      '--continue': 'continue',
      '--fork-session': 'forkSession',
      '--all': 'all',
      '--dry-run': 'dryRun',
      '--redo': 'redo',
      '--skip-changed': 'skipChanged',
      '--conversation-only': 'conversationOnly',
      '--files-only': 'filesOnly',
      '--no-file-checkpoints': 'noFileCheckpoints',
      '--yes': 'yes',
      '--trust': 'trust',
      '--list': 'list',
      '--revoke': 'revoke',
      '--force': 'force',
      '--keep': 'keep',
      '--no-progress': 'noProgress',
      '--suggest': 'suggest',
      '--save': 'save',
      '--claude-code': 'claudeCode',
      '--codex': 'codex',
      '--open': 'open',
      '-h': 'help',
      '--help': 'help',
      '-v': 'version',
      '--version': 'version',
      '--include-partial-messages': 'includePartialMessages',
      '--include-hook-events': 'includeHookEvents',
      '--include-all-messages': 'includeAllMessages',
      '--prompt-suggestions': 'promptSuggestions',
      '--hook-summary': 'hookSummary',
      '--take-over': 'takeOver',
      '--no-session-persistence': 'noSessionPersistence',
      '--dangerously-skip-permissions': 'dangerouslySkipPermissions',
      '--sandbox': 'sandbox',
      '--replay-user-messages': 'replayUserMessages',
      '--await-initialize': 'awaitInitialize',
      '--allow-dangerously-skip-permissions': 'allowDangerouslySkipPermissions',
      '--strict-mcp-config': 'strictMcpConfig',
    }
    for (const [flag, name] of Object.entries(switches)) {
      expect(parseFlags([flag, 'hi'])).toEqual({ flags: { [name]: true }, words: ['hi'] })
    }
    const tried = [...Object.keys(given), ...Object.keys(switches)]
    // A spelling can have a row for each of several commands.
    const spellings = new Set(Object.values(flagTable).flatMap(({ names }) => names))
    expect(tried.toSorted()).toEqual([...spellings].toSorted())
  })

  test('parses --until as a day for a report, and as a command for a run (spec R-GOAL-60)', () => {
    const day = { kind: 'day', year: 2026, month: 11, day: 30 }
    expect(parseFlags(['--until', '2026-11-30'], { command: 'report' }).flags).toEqual({ untilDate: day })
    expect(parseFlags(['--until=2026-11-30'], { command: 'report' }).flags).toEqual({ untilDate: day })
    expect(parseFlags(['--until', 'npm test', '--until=npm run lint']).flags).toEqual({
      until: ['npm test', 'npm run lint'],
    })
    expect(() => parseFlags(['--until', 'npm test'], { command: 'report' })).toThrow('--until takes an age')
  })

  test('accumulates values of a list flag, accepts more rules, and keeps the prompt', () => {
    expect(
      parseFlags(['-p', '--allowedTools', 'Read', 'Bash(npm test *)', 'mcp__a__b', 'fix it', '--allowed-tools=Edit']),
    ).toEqual({
      flags: { print: true, allowedTools: ['Read', 'Bash(npm test *)', 'mcp__a__b', 'Edit'] },
      words: ['fix it'],
    })
  })

  test.each([
    ['auto', 'auto'],
    ['off', 'off'],
    ['72.5%', '72.5%'],
    ['150000', 150_000],
    ['150k', 150_000],
    ['150000tokens', 150_000],
    ['1.5m tokens', 1_500_000],
  ])('--autocompact %s', (given, autocompact) => {
    expect(parseFlags(['--autocompact', given]).flags).toEqual({ autocompact })
  })

  test.each([
    ['2%', 0.02],
    ['2 %', 0.02],
    ['0.5%', 0.005],
    ['.05', 0.05],
    ['99%', 0.99],
  ])('--may-lose %s', (given, mayLose) => {
    expect(parseFlags(['--may-lose', given], { command: 'what-if' }).flags).toEqual({ mayLose })
  })

  test('parses --resume without an ID, and does not take the prompt for one', () => {
    expect(parseFlags(['--resume']).flags).toEqual({ resume: '' })
    expect(parseFlags(['-r', '--verbose']).flags).toEqual({ resume: '', verbose: true })
    expect(parseFlags(['-r', 'what was it?'])).toEqual({ flags: { resume: '' }, words: ['what was it?'] })
    expect(() => parseFlags(['--resume='])).toThrow('--resume takes a value that is not empty, not "".')
  })

  test('treats everything after -- as the prompt', () => {
    expect(parseFlags(['-p', '--', '--model'])).toEqual({ flags: { print: true }, words: ['--model'] })
  })

  test('accepts a Markdown list as a prompt', () => {
    expect(parseFlags(['-p', '- one\n- two'])).toEqual({ flags: { print: true }, words: ['- one\n- two'] })
  })

  test('treats an empty list of tools as no tools', () => {
    expect(parseFlags(['--tools', ''])).toEqual({ flags: { tools: ['none'] }, words: [] })
  })
})

test.each([
  [['--max-turn', '3'], 'There is no flag --max-turn. Did you mean --max-turns?'],
  [['--allowTools', 'Read'], 'There is no flag --allowTools. Did you mean --allowedTools?'],
  [['--max-budget', '3'], 'There is no flag --max-budget. Did you mean --max-budget-usd?'],
  [['--xyzzyplugh'], 'There is no flag --xyzzyplugh. halting help flags lists all flags.'],
  [['--max-turns', '0'], '--max-turns takes a whole number of at least 1, not "0".'],
  [['--max-turns=-1'], '--max-turns takes a whole number of at least 1, not "-1".'],
  [['--max-turns'], '--max-turns needs a value: --max-turns N.'],
  [['--until', ''], '--until takes a command in quotes, such as "npm test", not "".'],
  [['--until', ' '], '--until takes a command in quotes, such as "npm test", not " ".'],
  [['--until-tries', '0'], '--until-tries takes a whole number from 1 to 1000, not "0".'],
  [['--until-tries', 'Infinity'], '--until-tries takes a whole number from 1 to 1000, not "Infinity".'],
  [['--until-tries', '1001'], '--until-tries takes a whole number from 1 to 1000, not "1001".'],
  [['--until-stable', '101'], '--until-stable takes a whole number from 1 to 100, not "101".'],
  [
    ['--until-timeout', '10'],
    '--until-timeout takes a duration with a unit, such as 90s, 10m or 1h30m (at most 24 days), not "10".',
  ],
  [['--goal', ' '], '--goal takes a value that is not empty, not " ".'],
  [['--protect', ''], '--protect takes a value that is not empty, not "".'],
  [['--model', '--verbose'], '--model needs a value: --model NAME.'],
  [['--verbose=perhaps'], '--verbose takes no value (received "perhaps").'],
  [['--max-budget-usd', 'free'], '--max-budget-usd takes a number of US dollars above 0, such as 0.50, not "free".'],
  [
    ['--max-duration', '90'],
    '--max-duration takes a duration with a unit, such as 90s, 10m or 1h30m (at most 24 days), not "90".',
  ],
  [['--session-id', '12'], '--session-id takes a UUID, such as 3f2a8c1e-5b7d-4e9a-8c61-0d2b4f6a7e93, not "12".'],
  [
    ['--permission-mode', 'plann'],
    '--permission-mode takes one of default, acceptEdits, plan, dontAsk, bypassPermissions, not "plann". Did you mean plan?',
  ],
  [['--input-format', 'json'], '--input-format takes one of text, stream-json, not "json".'],
  [['--debug'], '--debug needs --input-format stream-json.'],
  [
    ['--permission-prompt-tool', 'ask'],
    '--permission-prompt-tool takes stdio, or a tool of a server such as mcp__auth__ask, not "ask".',
  ],
  [['--allowedTools', 'Bash('], '--allowedTools takes a list with balanced parentheses, not "Bash(".'],
  [['--output-format', 'stream-json'], '--output-format stream-json needs --verbose.'],
  [
    ['--include-partial-messages'],
    '--include-partial-messages needs --output-format stream-json (and that --verbose).',
  ],
  [['--system-prompt', 'a', '--system-prompt-file', 'b'], 'Give --system-prompt or --system-prompt-file, not both.'],
  [
    ['--dangerously-skip-permissions', '--permission-mode', 'plan'],
    '--dangerously-skip-permissions and --permission-mode plan cannot be combined.',
  ],
  [
    ['--tools', 'Read,Bogus'],
    '--tools: unknown tool Bogus. Use names from Agent, Bash, Edit, Glob, Grep, NotebookEdit, Read, TaskCreate, TaskGet, TaskList, TaskOutput, TaskStop, TaskUpdate, TodoWrite, Wait, WebFetch, WebSearch, Write, default for all, or "" for none.',
  ],
  [
    ['--tools', 'Rea'],
    '--tools: unknown tool Rea (did you mean Read?). Use names from Agent, Bash, Edit, Glob, Grep, NotebookEdit, Read, TaskCreate, TaskGet, TaskList, TaskOutput, TaskStop, TaskUpdate, TodoWrite, Wait, WebFetch, WebSearch, Write, default for all, or "" for none.',
  ],
  ...(
    [
      ['--autocompact', '80', ' Did you mean 80%?'],
      ['--autocompact', '0%', ''],
      ['--autocompact', '101%', ''],
      ['--autocompact', 'of', ' Did you mean off?'],
      ['--autocompact', '999', ''],
    ] as const
  ).map(([flag, value, hint]): [string[], string] => [
    [flag, value],
    `${flag} takes auto, off, a share of the window from 1% to 100%, or at least 1000 tokens such as 150000 or 150k, not "${value}".${hint}`,
  ]),
  [
    ['--context-window', '200'],
    '--context-window takes a number of tokens of at least 1000, such as 200000 or 200k, not "200".',
  ],
  [
    ['--json'],
    '--json belongs to halting budget, check, cluster budget, config, context, doctor, grade, memory, models, permissions, replay, report, rewind, sessions, setup, trust, undo, what-if and why. For a run, use --output-format json.',
  ],
  [['--keep'], '--keep belongs to halting demo.'],
  [['--add-dir', 'nowhere'], '--add-dir takes an existing directory, not "nowhere".'],
  [['two'], 'Received two prompts, "hi" and "two". Put the prompt in quotes, and repeat a list flag for each value.'],
])('refuses %j with exit code 2 before anything runs, and says what is valid', async (args, message) => {
  expect(await runHere(['-p', 'hi', '--script', script([{ content: 'never said' }]), ...args])).toEqual({
    status: 2,
    stdout: '',
    stderr: `halting: ${message}\n`,
  })
})

test('requires a price for a dollar budget', async () => {
  const { status, stdout, stderr } = await run([
    '-p',
    'hi',
    '--max-budget-usd',
    '1',
    '--script',
    script([{ content: 'no' }]),
  ])
  expect({ status, stdout }).toEqual({ status: 2, stdout: '' })
  expect(stderr).toContain('There is no price for scripted, so a dollar budget cannot be enforced.')
})

test('says what to set without a key', async () => {
  const { status, stdout, stderr } = await run(['-p', 'hi'])
  expect({ status, stdout }).toEqual({ status: 2, stdout: '' })
  expect(stderr).toContain('Set ANTHROPIC_API_KEY')
})

test('warns about a rule for an unknown tool', async () => {
  const { status, stderr } = await run([
    '-p',
    'hi',
    '--script',
    script([{ content: 'ok' }]),
    '--disallowedTools',
    'Bsh',
  ])
  expect({ status, stderr }).toEqual({
    status: 0,
    stderr: 'halting: --disallowedTools: unknown tool Bsh (did you mean Bash?)\n',
  })
})

test('accepts rules for tools of servers in --allowedTools, and warns about an unknown tool', async () => {
  const replies = script([{ content: 'ok' }])
  expect(
    await run(['-p', 'hi', '--script', replies, '--allowedTools', 'mcp__a__b,Bogus', '--tools', 'default']),
  ).toEqual({ status: 0, stdout: 'ok\n', stderr: 'halting: --allowedTools: unknown tool Bogus\n' })
})

test('names every flag in halting help flags', async () => {
  const { status, stdout, stderr } = await run(['help', 'flags'])
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  for (const name of Object.values(flagTable).flatMap(({ names }) => names)) expect(stdout).toContain(name)
})

test('shows only the flags of the command for --help after a command that starts no run', async () => {
  const flagsIn = (help: string): readonly string[] =>
    [...help.matchAll(/^ {2}(?:-\w, )?(--[\w-]+)/gm)].map(([, name = '']) => name)
  const { status, stdout, stderr } = await runHere(['report', '--help'])
  expect({ status, stderr, flags: flagsIn(stdout) }).toEqual({
    status: 0,
    stderr: '',
    flags:
      '--settings --setting-sources --session-store --cluster --admin --json --all --format --output --force --claude-code --codex --since --until --by --help'.split(
        ' ',
      ),
  })
  expect(stdout).toMatch(/^Usage: halting report \[FOLDER\]\n/)
  const whatIf = flagsIn((await runHere(['what-if', '-h'])).stdout)
  expect(whatIf).toEqual(expect.arrayContaining(['--max-turns', '--max-duration', '--no-progress', '--suggest']))
  // If a flag means something else for this command, its help says so.
  const inOneLine = (help: string): string => help.replaceAll(/\s+/g, ' ')
  expect(inOneLine(stdout)).toContain(`--format FORMAT ${flagTable.format.meaningFor?.report}`)
  const inspect = inOneLine((await runHere(['inspect', '--help'])).stdout)
  expect(inspect).toContain(`--output FILE ${flagTable.output.meaningFor?.inspect}`)
  expect(inspect).toContain(`--port N ${flagTable.port.meaningFor?.inspect}`)
})

test('prints the same version wherever the flag is', async () => {
  const first = await run(['-v'])
  expect(await run(['-p', '-v'])).toEqual(first)
})
