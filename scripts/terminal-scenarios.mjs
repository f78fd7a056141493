// What scripts/record-terminal.mjs records. `moments`: the text that the screen must show before it is recorded, and the keys that are pressed then.

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
    text: 'One live line shows the current state: turn, tool, time, tokens, dollars. The answer is printed as it arrives. The last line is a summary.',
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
    moments: [{ until: /^(turn \d · )?Bash sh check/m, title: 'During the check:' }],
  },
  {
    name: 'denial',
    title: 'A denial',
    text: 'The output lists the denied calls, and a command that continues the session with the missing rules.',
    command: 'halting -p "Note the date" --script script.json',
    files: script(
      { content: [call('Write', { file_path: 'notes.txt', content: 'today' }), call('Bash', { command: 'git push' })] },
      { content: 'I may not write the note, and not push it.', delay_ms: 1200 },
    ),
  },
  {
    name: 'down',
    title: 'A server that is down',
    text: 'The error and the time of the next attempt are shown at once.',
    command: 'halting -p "Hello"',
    env: { ANTHROPIC_API_KEY: 'none', ANTHROPIC_BASE_URL: 'http://127.0.0.1:65530', CLAUDE_CODE_MAX_RETRIES: '2' },
    moments: [{ until: /retry \d\/\d/, title: 'Between two attempts:' }],
  },
  {
    name: 'wait',
    title: 'A 429 with a wait',
    text: 'The service asks for a wait, and the live line counts it down.',
    command: 'halting -p "Hello" --script script.json',
    files: script(
      { error: { status: 429, message: 'Too many requests', headers: { 'retry-after': '3' } } },
      { content: 'Hello.' },
    ),
    moments: [{ until: /retry \d\/\d/, title: 'During the wait:' }],
  },
  {
    name: 'limit',
    title: 'A limit',
    text: 'The last answer of `--wrap-up` is on stdout. The next line says why the run ended, and what to do. The last line is the command that continues the session.',
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
    text: 'The conversation is compacted when the context window is nearly full (`ctx`). A line shows the number of tokens before and after. See [Context](context.md).',
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
    moments: [{ until: /compacting [\d.]+k tokens \(\d s\)/, title: 'During the compaction:' }],
  },
  {
    name: 'interrupt',
    title: 'Ctrl-C',
    text: 'The first Ctrl-C ends the run and all processes that it started. A second one exits at once.',
    command: 'halting -p "Wait for it" --allowedTools Bash --script script.json',
    files: script({ content: ['I wait.', call('Bash', { command: 'sleep 60' })] }),
    moments: [{ until: /^(turn \d · )?Bash sleep 60/m, keys: 'C-c', title: 'Before:' }],
  },
  {
    name: 'pipe',
    title: 'Into a file',
    text: 'The file contains only the final answer, without the text that the model wrote before it.',
    command: 'halting -p "Look around" --script script.json > answer.txt; cat answer.txt',
    files: script(
      { content: ['I look.', call('Glob', { pattern: '*.txt' })] },
      { content: 'There is nothing here.', delay_ms: 1200 },
    ),
  },
  {
    name: 'quiet',
    title: 'With --quiet',
    text: 'Only the answer is printed, when it is complete.',
    command: 'halting -p "Look around" --quiet --script script.json',
    files: script({ content: ['I look.', call('Glob', { pattern: '*.txt' })] }, { content: 'There is nothing here.' }),
  },
]
