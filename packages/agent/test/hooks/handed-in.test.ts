// Holds R-SETHOOK-12 and R-SETHOOK-12a of docs/spec: UserPromptSubmit for what is said while a run goes on.
import { expect, test } from 'vitest'
import { bash, hookedRun as run, on } from '../support/hooked-run.ts'

const noSecrets = on(
  'cat > last.json; cat last.json >> all.json; grep -q hunter2 last.json && { echo a secret >&2; exit 2; }; echo on main',
)
const prompts = (text: string): readonly unknown[] =>
  text
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as { readonly prompt: unknown }).prompt)

test('passes each message to the hooks once, before the model sees it, and puts their output next to it', async () => {
  const { requests, written, reason, shown } = await run({ UserPromptSubmit: noSecrets }, [bash, 'one', 'two'], {
    meanwhile: (engine) => {
      engine.steer('rather in French')
      engine.steer([{ type: 'text', text: 'and short' }])
      engine.followUp('then in Latin')
    },
  })
  expect(prompts(written('all.json'))).toEqual(['go', 'rather in French', 'and short', 'then in Latin'])
  expect([reason, requests.length]).toEqual(['completed', 3])
  expect(shown.match(/UserPromptSubmit hook: on main/g)).toHaveLength(4)
})

test('exit 2 erases a steering message: the model never sees it, and the run continues', async () => {
  const { requests, reason, engine, messages } = await run({ UserPromptSubmit: noSecrets }, [bash, 'one'], {
    meanwhile: (going) => {
      going.steer('my password is hunter2')
      going.steer('and be brief')
    },
  })
  expect([reason, requests.length]).toEqual(['completed', 2])
  const last = JSON.stringify(requests.at(-1)?.messages)
  expect(last).toContain('A hook removed this prompt.')
  expect(last).toContain('and be brief')
  expect(JSON.stringify(requests)).not.toContain('hunter2')
  expect(JSON.stringify(messages)).toContain('A hook blocked the prompt: a secret')
  for await (const _ of engine.submit('and now'));
  expect(JSON.stringify(requests)).not.toContain('hunter2')
})

test('exit 2 erases a follow-up message, and ends the run', async () => {
  const { requests, reason, message, engine } = await run({ UserPromptSubmit: noSecrets }, [bash, 'one'], {
    meanwhile: (going) => void going.followUp('my password is hunter2'),
  })
  expect([reason, message, requests.length]).toEqual(['stop_requested', 'A hook blocked the prompt: a secret', 2])
  for await (const _ of engine.submit('and now'));
  expect(engine.lastTerminal?.reason).toBe('completed')
  expect(JSON.stringify(requests)).not.toContain('hunter2')
})
