// In the place of `service/command-credentials.ts`, where there is no Node.
import { ConfigurationError } from '@halting/core'

/** @throws ConfigurationError always: nothing here can run a command. */
export function commandCredentials(): never {
  throw new ConfigurationError(
    'commandCredentials runs a command, which needs Node. Set credentials to a function that asks your own server for a key.',
  )
}
