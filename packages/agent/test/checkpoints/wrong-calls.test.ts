// What a program passes to SessionFiles: plain JavaScript has no compiler.
import { ConfigurationError } from '@halting/core'
import { expect, test } from 'vitest'
import { SessionFiles } from '../../src/checkpoints/session-files.ts'

const wrongCalls: readonly (readonly [message: string, call: () => unknown])[] = [
  ['The folder of SessionFiles must be a text', () => new SessionFiles(undefined as never)],
  ['plan must be given an object', () => new SessionFiles('/x').plan(undefined as never)],
  ["plan must be given { kind: 'undo' }", () => new SessionFiles('/x').plan({ kind: 'x' } as never)],
  ['first must be the index of a record', () => new SessionFiles('/x').plan({ kind: 'rewind' } as never)],
]

test.each(wrongCalls)('rejects a wrong call with advice: %s', async (message, call) => {
  const error = await Promise.resolve()
    .then(() => call())
    .catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(ConfigurationError)
  expect((error as Error).message).toContain(message)
})
