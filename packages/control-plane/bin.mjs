#!/usr/bin/env node
import { runPlane } from './dist/index.mjs';

process.exitCode = await runPlane(process.argv.slice(2), process.env);
