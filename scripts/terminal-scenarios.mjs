// What scripts/record-terminal.mjs records. `moments`: what the screen is to hold before it is taken, and keys that are pressed then.

const model = 'claude-sonnet-5-5'
const usage = { input_tokens: 1500, output_tokens: 40 }
const call = (name, input) => ({ type: 'tool_use', name, input })
const script = (...replies) => ({
  'script.json': JSON.stringify({
    model,
    replies: replies.map((reply) => ('error' in reply ? reply : { usage, ...reply })),
  }),
})

export const scenarios = [
  {
    name: 'success',
    title: 'A success',
    text: 'One live line tells what goes on: turn, tool, time, tokens, dollars. The answer comes as it is written. One line closes.',
    command: 'halting -p "Fix the greeting" --allowedTools Edit,Bash --script script.json',
    files: {
      'greet.mjs': "console.log('Helo')\n",
      'check.sh': 'sleep 3; grep -q Hello greet.mjs && echo "It greets."\n',
      ...script(
        { content: ['I read the file first.', call('Read', { file_path: 'greet.mjs' })] },
        { content: [call('Edit', { file_path: 'greet.mjs', old_string: 'Helo', new_string: 'Hello' })] },
        { content: ['Now the check.', call('Bash', { command: 'sh check.sh' })] },
        { content: 'The greeting is right now: it said "Helo".' },
      ),
    },
    moments: [{ until: /^(turn \d · )?Bash sh check/m, title: 'While the check runs:' }],
  },
  {
    name: 'denial',
    title: 'A denial',
    text: 'What was denied is told with the command that runs it again with what was missing.',
    command: 'halting -p "Note the date" --script script.json',
    files: script(
      { content: [call('Write', { file_path: 'notes.txt', content: 'today' }), call('Bash', { command: 'git push' })] },
      { content: 'I may not write the note, and not push it.', delay_ms: 1200 },
    ),
  },
  {
    name: 'down',
    title: 'A server that is down',
    text: 'What is wrong is told at once, and when it is tried again.',
    command: 'halting -p "Hello"',
    env: { ANTHROPIC_API_KEY: 'none', ANTHROPIC_BASE_URL: 'http://127.0.0.1:65530', CLAUDE_CODE_MAX_RETRIES: '2' },
    moments: [{ until: /retry \d\/\d/, title: 'While it tries again:' }],
  },
  {
    name: 'wait',
    title: 'A 429 with a wait',
    text: 'The wait that the service asks for is counted down.',
    command: 'halting -p "Hello" --script script.json',
    files: script(
      { error: { status: 429, message: 'Too many requests', headers: { 'retry-after': '3' } } },
      { content: 'Hello.' },
    ),
    moments: [{ until: /retry \d\/\d/, title: 'While it waits:' }],
  },
  {
    name: 'limit',
    title: 'A limit',
    text: 'The last answer of `--wrap-up` is on stdout. The line after it says why the run ended, and what to do; the last one is the command that goes on.',
    command: 'halting -p "Find it" --max-turns 2 --wrap-up --script script.json',
    files: script(
      { content: [call('Glob', { pattern: '*.a' })] },
      { content: [call('Glob', { pattern: '*.b' })] },
      { content: 'It is neither an .a nor a .b file.', delay_ms: 1200 },
    ),
  },
  {
    name: 'compaction',
    title: 'A window that fills up',
    text: 'The conversation is made shorter when it nears the end of the window (`ctx`), and a line tells from how many tokens to how many. [Context](context.md) tells more.',
    command: 'halting -p "What is wrong?" --context-window 8k --script script.json',
    files: {
      'test.log': Array.from({ length: 480 }, (_, index) => `test ${index + 1} of the settings is fine\n`).join(''),
      ...script(
        {
          content: [
            'I read the log.',
            ...[1, 81, 161, 241, 321, 401].map((offset) => call('Read', { file_path: 'test.log', offset, limit: 80 })),
          ],
        },
        { when: 'is about to be replaced by a summary', content: 'The log has 480 tests, all fine.', delay_ms: 3500 },
        { content: 'Nothing is wrong: all 480 tests are fine.', delay_ms: 1200 },
      ),
    },
    moments: [{ until: /compacting [\d.]+k tokens \(\d s\)/, title: 'While it is made shorter:' }],
  },
  {
    name: 'interrupt',
    title: 'Ctrl-C',
    text: 'The first Ctrl-C ends the run and what it started; a second one leaves at once.',
    command: 'halting -p "Wait for it" --allowedTools Bash --script script.json',
    files: script({ content: ['I wait.', call('Bash', { command: 'sleep 60' })] }),
    moments: [{ until: /^(turn \d · )?Bash sleep 60/m, keys: 'C-c', title: 'Before:' }],
  },
  {
    name: 'pipe',
    title: 'Into a file',
    text: 'The file gets the answer and nothing else; what the model wrote on the way is not in it.',
    command: 'halting -p "Look around" --script script.json > answer.txt; cat answer.txt',
    files: script(
      { content: ['I look.', call('Glob', { pattern: '*.txt' })] },
      { content: 'There is nothing here.', delay_ms: 1200 },
    ),
  },
  {
    name: 'quiet',
    title: 'With --quiet',
    text: 'Only the answer, when it is complete.',
    command: 'halting -p "Look around" --quiet --script script.json',
    files: script({ content: ['I look.', call('Glob', { pattern: '*.txt' })] }, { content: 'There is nothing here.' }),
  },
]
