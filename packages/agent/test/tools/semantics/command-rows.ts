import { refused, type Row, rowsOf } from './row.ts'

const bash = rowsOf('Bash')
const output = rowsOf('TaskOutput')
const stop = rowsOf('TaskStop')
const wait = rowsOf('Wait')

const started = (command: string) => ({ calls: [['Bash', { command, run_in_background: true }]] }) as const

export const commandRows: readonly Row[] = [
  bash('Runs a command and gives its output', { command: 'echo hello' }, 'hello'),
  bash('stdout and stderr both', { command: 'echo out; echo err >&2' }, 'out\nerr'),
  bash(
    'A command that fails is an error, with its exit code',
    { command: 'echo bad; exit 3' },
    'Exit code 3\nbad',
    refused,
  ),
  bash(
    'A search that finds nothing is an error of exit code 1',
    { command: 'echo one | grep two' },
    'Exit code 1: no match.',
    { how: 'It is an answer and no error: models take errors for failures' },
  ),
  bash('The working directory is kept between calls', { command: 'pwd' }, '{cwd}/d', {
    given: { made: 'mkdir d', calls: [['Bash', { command: 'cd d' }]] },
  }),
  bash('A directory outside of the session is left again', { command: 'cd /' }, 'the working directory is {cwd} again'),
  bash('Variables are not kept', { command: 'echo "[$kept]"' }, '[]', {
    given: { calls: [['Bash', { command: 'kept=1' }]] },
  }),
  bash(
    'timeout in milliseconds ends the command',
    { command: 'sleep 600', timeout: 50 },
    'Timed out after 50 ms',
    refused,
  ),
  bash(
    'timeout is 600,000 ms at most',
    { command: 'echo done', timeout: 9_000_000 },
    'The timeout was lowered to the maximum of 600000 ms',
    { how: 'It is lowered, and that is said' },
  ),
  bash('timeout is a number', { command: 'echo done', timeout: '5000' }, 'done', {
    how: 'A number as text is plain, so it is taken',
  }),
  bash('Output beyond 30,000 characters is cut', { command: 'seq 20000' }, '19999\n20000', {
    how: 'Head and tail are shown, not the head alone, and a session keeps all of it in a file',
  }),
  bash('description says what it does', { command: 'echo done', description: 'Says done' }, 'done'),
  bash('There is nothing on stdin', { command: 'cat; echo end' }, 'end'),
  bash('A command without output says so', { command: 'true' }, '(no output)'),
  bash('command is required', {}, 'command is missing', refused),
  bash('An empty command is refused', { command: '' }, 'command must be a non-empty string', refused),
  bash(
    'dangerouslyDisableSandbox runs it outside of the sandbox',
    { command: 'echo done', dangerouslyDisableSandbox: true },
    'done',
    { how: 'A person is asked where it would run confined to the workspace; `--sandbox` stays as it is' },
  ),
  bash(
    'run_in_background goes on at once, with an id',
    { command: 'sleep 600', run_in_background: true },
    'Started in the background as bash_1',
  ),
  bash('A background command has no timeout', { command: 'sleep 600', run_in_background: true, timeout: 1 }, 'bash_1'),
  bash('Several commands in one call', { command: 'echo a && echo b; echo c' }, 'a\nb\nc'),
  bash('What a command leaves running does not hold it up', { command: 'sleep 600 & echo done' }, 'done'),

  output('Shows what a task has written, and its state', { task_id: 'bash_1' }, 'Ended with exit code 0.\nhello', {
    given: started('echo hello'),
  }),
  output('Waits for the end when nothing is said', { task_id: 'bash_1' }, 'late', {
    given: started('sleep 0.2; echo late'),
  }),
  output('block false does not wait', { task_id: 'bash_1', block: false }, 'Still running.', {
    given: started('sleep 600'),
  }),
  output('timeout bounds the wait', { task_id: 'bash_1', timeout: 20 }, 'Still running.', {
    given: started('sleep 600'),
  }),
  output(
    'timeout is 600,000 ms at most',
    { task_id: 'bash_1', timeout: 9_000_000 },
    'The timeout was lowered to the maximum of 600000 ms',
    { given: started('echo hello'), how: 'It is lowered, and that is said' },
  ),
  output(
    'A task that is not there is an error',
    { task_id: 'none' },
    'There is no task none. No task was started.',
    refused,
  ),
  output('Failure is reported', { task_id: 'bash_1' }, 'Ended with exit code 3.', { given: started('exit 3') }),
  output('Each call shows what is new', { task_id: 'bash_1' }, 'hello', {
    given: { calls: [...started('echo hello').calls, ['TaskOutput', { task_id: 'bash_1' }]] },
    how: 'All of it each time, head and tail: what a compaction took away can be read again',
  }),
  output('task_id is required', {}, 'task_id is missing', refused),

  stop('Ends a task', { task_id: 'bash_1' }, 'Stopped bash_1', { given: started('sleep 600') }),
  stop('A task that is not there is an error', { task_id: 'none' }, 'There is no task none', refused),
  stop('A task that has ended is an error', { task_id: 'bash_1' }, 'bash_1 had already ended.', {
    given: { calls: [...started('true').calls, ['TaskOutput', { task_id: 'bash_1' }]] },
    how: 'It is as it was to be, so it is no error',
  }),
  stop('shell_id is the older name of task_id', { shell_id: 'bash_1' }, 'Stopped bash_1', {
    given: started('sleep 600'),
  }),

  wait('Waits for the end of a task', { task_id: 'bash_1' }, 'bash_1: Ended with exit code 3.', {
    given: started('exit 3'),
    how: 'There is no such tool: TaskOutput waits for ten minutes at most',
  }),
  wait(
    'Or for a line of its output',
    { task_id: 'bash_1', pattern: 'port [0-9]+' },
    'bash_1 wrote: ready on port 3000',
    {
      given: started('echo ready on port 3000; sleep 600'),
      how: 'There is no such tool: output is polled',
    },
  ),
  wait('For a command that exits with 0', { command: 'test -e made' }, 'The command exited with 0. It ran once.', {
    given: { made: 'touch made' },
    how: 'There is no such tool: `sleep` in Bash',
  }),
  wait('For a file', { file_path: 'made' }, 'made exists: 0 bytes', {
    given: { made: 'touch made' },
    how: 'There is no such tool',
  }),
  wait('A task that is not there is an error', { task_id: 'none' }, 'There is no task none', {
    ...refused,
    how: 'There is no such tool',
  }),
  wait(
    'A pattern that cannot be read is an error',
    { task_id: 'bash_1', pattern: '[' },
    'Invalid pattern /[/: unclosed',
    {
      ...refused,
      given: started('true'),
      how: 'There is no such tool',
    },
  ),
]
