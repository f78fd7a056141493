import type { JsonObject } from '@halting/core'
import type { PluginPlaces } from '../instructions/places.ts'

/** A folder that brings commands, skills, agents, hooks and servers, and that somebody named for a session. */
export interface Plugin extends PluginPlaces {
  /** Its version; absent where it says none. */
  readonly version?: string
  /** Each as the `hooks` of settings. */
  readonly hooks: readonly JsonObject[]
  /** Its MCP servers, by name. */
  readonly servers: Readonly<Record<string, JsonObject>>
}

/** A plugin that was not loaded, or a part of one. */
export interface PluginProblem {
  /** Its name; `inline[0]` by its place among those that were named, where it has none. */
  readonly plugin: string
  /** What kind of problem it is. */
  readonly type: 'path-not-found' | 'manifest-validation-error' | 'generic-error'
  /** What is wrong, in a sentence. */
  readonly message: string
  /** The folder of one that was not loaded at all. */
  readonly path?: string
}

/** Plugins as they were read, with problems. */
export interface Plugins {
  /** The plugins that were loaded. */
  readonly all: readonly Plugin[]
  /** What was not loaded, and why. */
  readonly problems: readonly PluginProblem[]
}
