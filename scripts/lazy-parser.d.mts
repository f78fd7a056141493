import type { Plugin } from 'esbuild'

export function lazyParser(modules?: Readonly<Record<string, string>>): Plugin
