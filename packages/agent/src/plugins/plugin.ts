import type { JsonObject } from '@halting/core'
import type { PluginPlaces } from '../instructions/places.ts'

/** A folder that brings commands, skills, agents, hooks and servers, and that somebody named for a session. */
export interface Plugin extends PluginPlaces {
  readonly version?: string
  /** Each as the `hooks` of settings. */
  readonly hooks: readonly JsonObject[]
  readonly servers: Readonly<Record<string, JsonObject>>
}

/** A plugin that was not loaded, or a part of one. */
export interface PluginProblem {
  /** Its name; `inline[0]` by its place among those that were named, where it has none. */
  readonly plugin: string
  readonly type: 'path-not-found' | 'manifest-validation-error' | 'generic-error'
  readonly message: string
  /** The folder of one that was not loaded at all. */
  readonly path?: string
}

/** Plugins as they were read, with problems. */
export interface Plugins {
  readonly all: readonly Plugin[]
  readonly problems: readonly PluginProblem[]
}
