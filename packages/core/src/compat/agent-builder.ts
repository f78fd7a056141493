import { ConfigurationError } from '../values/errors.ts'
import { fieldsOf } from '../values/given.ts'
import { settingsOf, type RunOptions } from '../api/options.ts'
import { Agent } from './agent.ts'
import type { AgentConfiguration, Capability } from './capability.ts'

/** Builds an agent from capabilities. Immutable: every `with…` returns a new builder. */
export class AgentBuilder {
  readonly #configuration: AgentConfiguration

  /** For builders that add to this one. */
  protected constructor(configuration: AgentConfiguration) {
    this.#configuration = configuration
  }

  /** A builder with nothing but these options; a model may also come by `UseModel`. */
  static base(options: Partial<Omit<RunOptions, 'stopWhen'>> = {}): AgentBuilder {
    // Plain JavaScript may give it: the guards of the builder would take its place.
    if ('stopWhen' in options)
      throw new ConfigurationError(
        'A builder has no stopWhen. Register each guard: .withCapability(new UseHook(guard)).',
      )
    return new AgentBuilder({ ...options, guards: [] })
  }

  /** @throws ConfigurationError for what is no capability. */
  withCapability(capability: Capability): AgentBuilder {
    return new AgentBuilder(this.configuredBy(capability))
  }

  /** @throws ConfigurationError for what is no capability. */
  protected configuredBy(capability: Capability): AgentConfiguration {
    if (typeof fieldsOf(capability)?.['configure'] !== 'function')
      throw new ConfigurationError('A capability must have configure, as those of UseTools and UseHook do.')
    return capability.configure(this.#configuration)
  }

  /** @throws ConfigurationError without a model, or for options that cannot be run. */
  build(): Agent {
    const options = this.loopOptions()
    settingsOf(options)
    return new Agent(options)
  }

  /** All that was gathered, as `streamRun` takes it. @throws ConfigurationError without a model. */
  protected loopOptions(): RunOptions {
    const { guards, model, ...rest } = this.#configuration
    if (model === undefined) {
      throw new ConfigurationError(
        'The agent has no model. Give one: AgentBuilder.base({ model }) or .withCapability(new UseModel(model)).',
      )
    }
    return { ...rest, model, stopWhen: guards }
  }
}
