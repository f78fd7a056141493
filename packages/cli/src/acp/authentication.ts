import type { AuthMethod, ClientCapabilities } from '@agentclientprotocol/sdk'
import { invalid, missingKeyError } from './errors.ts'
import type { MissingKeyError } from '../flags/missing-key.ts'

// A key is read from the environment and from settings. The editor itself never receives one.

const inTerminal = 'setup'
const byEnvironment = 'environment'

/** The ways to a key, where one is missing (spec R-ACP-19). */
export function authMethodsFor(
  missing: MissingKeyError | undefined,
  { auth }: Pick<ClientCapabilities, 'auth'>,
): AuthMethod[] {
  if (missing === undefined) return []
  const [variable = 'the key of its service'] = missing.keyVariables
  const setup: AuthMethod = {
    type: 'terminal',
    id: inTerminal,
    name: 'Set up in a terminal',
    description: 'Finds keys, models on this machine and settings of other agents, and writes your choice.',
    // Appended to the call of `halting acp`.
    args: ['setup'],
  }
  const environment: AuthMethod = {
    id: byEnvironment,
    name: 'Check for a key again',
    description: `Set ${variable} for this agent in the settings of the editor, or run halting setup in a terminal. Then choose this.`,
  }
  return auth?.terminal === true ? [setup, environment] : [environment]
}

/** Answers `authenticate`. @throws RequestError where the key is still missing, or the method is not one of these. */
export async function authenticate(
  methodId: string,
  missingKey: () => Promise<MissingKeyError | undefined>,
): Promise<Record<string, never>> {
  if (methodId === inTerminal)
    throw invalid('The method "setup" is run by the client, in a terminal: its args follow the call of the agent.')
  if (methodId !== byEnvironment) throw invalid(`There is no authentication method "${methodId}".`)
  const missing = await missingKey()
  if (missing !== undefined) throw missingKeyError(missing)
  return {}
}
