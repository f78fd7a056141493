import type { Plugin } from 'esbuild'

export function lazyGraphemes(): Plugin
