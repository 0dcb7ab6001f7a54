@echo off
rem Starts the Toolcrib that is installed on this machine; a plugin brings none of its own.
setlocal
set "program=%TOOLCRIB_GATEWAY%"
if not defined program for %%p in (
  "%USERPROFILE%\.local\bin\toolcrib-gateway.exe"
  "%LOCALAPPDATA%\Programs\Toolcrib\toolcrib-gateway.exe"
) do if exist %%p if not defined program set "program=%%~p"
if not defined program for /f "delims=" %%p in ('where toolcrib-gateway 2^>nul') do if not defined program set "program=%%p"
if defined program (
  "%program%" %*
  exit /b
)
if "%~1"=="hook" exit /b 0
echo Toolcrib is not installed: uv tool install toolcrib, then start this host again. 1>&2
exit /b 127
