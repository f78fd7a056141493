// Replaces `service/command-credentials.ts` on hosts without Node.
import { ConfigurationError } from '@halting/core'

/** @throws ConfigurationError always: this host cannot run commands. */
export function commandCredentials(): never {
  throw new ConfigurationError(
    'commandCredentials runs a command, which needs Node. Set credentials to a function that asks your own server for a key.',
  )
}
