import { ConfigurationError, type SettingsChange } from '@halting/core'

/**
 * The command of a goal runs on the worker, outside of the model's reach and of the rules that the worker has for calls: whoever has a client could run
 * anything there.
 * @throws ConfigurationError for a change that sets goals.
 */
export function checkGoals({ until }: SettingsChange): void {
  if (until === undefined) return
  throw new ConfigurationError(
    'The goals of a session on a cluster are those that its worker was started with; nothing was changed. Start the worker with other goals.',
  )
}
