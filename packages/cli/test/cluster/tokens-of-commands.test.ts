// Holds a rule of docs/spec: R-SECRET-5
import { expect, test } from 'vitest'
import { toolEnvironment } from '@halting/agent/open-session'
import { sessionPorts } from '../../src/flags/session-ports.ts'
import { programInMemory } from '../support/program-in-memory.ts'

test('hides the tokens of a cluster from commands unless the user passes them on', () => {
  const env = { PATH: '/bin', HALTING_CLUSTER_TOKEN: 'a', HALTING_WORKER_TOKEN: 'b' }
  const { hiddenVariables } = sessionPorts(programInMemory({ cwd: '/', env }), {})
  expect(toolEnvironment(env, hiddenVariables)).toEqual({ PATH: '/bin' })
  expect(toolEnvironment(env, hiddenVariables, ['HALTING_WORKER_TOKEN'])).toEqual({
    PATH: '/bin',
    HALTING_WORKER_TOKEN: 'b',
  })
})
