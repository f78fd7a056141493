import type { Plugin } from 'esbuild'

export function lazyParser(): Plugin
