export { nearest } from '@halting/agent'
