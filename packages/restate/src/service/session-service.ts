import type { ServiceDefinition, VirtualObjectDefinition } from '@restatedev/restate-sdk'
import { attemptsDefinition } from '../attempts/attempts-object.ts'
import { checkNode } from '../engine/restate-engine.ts'
import { budgetDefinition } from '../fleet/budget-service.ts'
import { fleetDefinition } from '../fleet/free-places-service.ts'
import { gateDefinition, passDefinition } from '../fleet/gate-service.ts'
import { pulseDefinition } from '../worker/engine-pulse.ts'
import { mailboxDefinition } from './mailbox-object.ts'
import { sessionDefinition } from './session-object.ts'
import type { SessionServiceOptions } from './session-options.ts'

/**
 * The services of a worker: the session as an object of the engine, at which one invocation at a time works, and what all sessions share. That is the budgets, the gates to
 * providers, and a check that the engine can write.
 * @throws ConfigurationError on Node 20: the engine's SDK needs 22.
 */
export function sessionServices(
  options: SessionServiceOptions,
): readonly (VirtualObjectDefinition<string, unknown> | ServiceDefinition<string, unknown>)[] {
  checkNode()
  const { tokens } = options
  return [
    sessionDefinition(options),
    mailboxDefinition(options),
    attemptsDefinition(options),
    fleetDefinition(tokens),
    budgetDefinition(tokens),
    gateDefinition(tokens),
    passDefinition(tokens),
    pulseDefinition(tokens),
  ]
}
