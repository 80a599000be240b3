import './app/app.css';
import { createRoot } from 'react-dom/client';
import { App } from './app/app.tsx';
import { readBootstrap } from './app/bootstrap.ts';
import { startTheme } from './app/theme.ts';
import { StartFailure } from './app/start-failure.tsx';

startTheme();
const root = createRoot(document.getElementById('root') as HTMLElement);
readBootstrap().then(
  (bootstrap) => root.render(<App bootstrap={bootstrap} />),
  (error: unknown) => root.render(<StartFailure error={error} />),
);
