import type { JsonObject } from '@halting/core'
import type { PluginPlaces } from '../instructions/places.ts'

/** A folder with commands, skills, agents, hooks and servers, named for a session. */
export interface Plugin extends PluginPlaces {
  /** Version of the plugin; absent if it has none. */
  readonly version?: string
  /** Hooks of the plugin, each object in the form of the `hooks` of settings. */
  readonly hooks: readonly JsonObject[]
  /** MCP servers of the plugin, by name. */
  readonly servers: Readonly<Record<string, JsonObject>>
}

/** A plugin, or a part of one, that was not loaded. */
export interface PluginProblem {
  /** Name of the plugin; without a name `inline[0]`, with its position in the list. */
  readonly plugin: string
  /** The kind of problem. */
  readonly type: 'path-not-found' | 'manifest-validation-error' | 'generic-error'
  /** What is wrong, in a sentence. */
  readonly message: string
  /** The folder of a plugin that failed to load as a whole. */
  readonly path?: string
}

/** Plugins, with problems of those that could not be read. */
export interface Plugins {
  /** The plugins that were loaded. */
  readonly all: readonly Plugin[]
  /** What was not loaded, and why. */
  readonly problems: readonly PluginProblem[]
}
