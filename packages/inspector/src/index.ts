// `@halting/inspector`: the page over sessions, and the server that shows it in a browser of this machine.
export { exportedName, exportedPage, type ExportSource } from './server/exported-page.ts'
export { readPageFiles, type PageFiles } from './server/page-files.ts'
export type { SessionSource } from '@halting/analysis/view'
export { startInspector, type Inspector, type InspectorOptions } from './server/start-inspector.ts'
